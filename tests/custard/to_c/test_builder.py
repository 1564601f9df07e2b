"""A kernel under construction: names, arrays, and first statements."""

from custard.to_c.builder import KernelBuilder
from custard.to_c.loop_ir import INT, INT32, ONE, Assign, Declare, Field, Require, Var, array


def test_names_are_taken_once():
    builder = KernelBuilder()
    assert [builder.fresh("p") for _ in range(3)] == ["p", "p_2", "p_3"]


def test_names_that_c_keeps_to_itself():
    builder = KernelBuilder()
    assert builder.fresh("int") == "int_2"
    assert builder.fresh("_Bool") == "_Bool_"
    assert builder.fresh("2x") == "_2x"
    assert builder.fresh("i'") == "i_"
    assert builder.fresh("é") == "ue9"


def test_names_of_a_block_are_free_behind_it():
    builder = KernelBuilder()
    with builder.scope():
        builder.fresh("p")
        array_of_kernel = builder.stored("A", "values", array(INT32))
    assert builder.fresh("p") == "p"
    assert builder.fresh(array_of_kernel.name) != array_of_kernel.name


def test_a_loop_in_a_loop_of_the_same_name_gets_another():
    builder = KernelBuilder()
    assert builder.loop_variable("i") == Var("i")
    builder.bound.add("i")
    builder.taken.add("i")
    assert builder.loop_variable("i").name == "i_2"
    assert builder.name_of("j") == builder.name_of("j")


def test_arrays_and_numbers_are_declared_first():
    builder = KernelBuilder()
    values = builder.stored("A", "values", array(INT32))
    assert builder.stored("A", "values", array(INT32)) is values
    size = builder.local("i_size", Field("A", "size0"))
    assert builder.local("i_size", Field("A", "size0")) is size
    scratch = builder.scratch("seen", array(INT), size)
    body = builder.body([Assign(scratch[ONE], ONE)])
    declared = [one.var for one in body if isinstance(one, Declare)]
    assert declared == [size, values]
    assert any(isinstance(one, Require) for one in body)
    assert builder.heap == [scratch]


def test_a_thread_has_arrays_of_its_own():
    builder = KernelBuilder()
    with builder.thread() as (heap, prologue, required):
        builder.scratch("seen", array(INT), ONE)
    assert [len(one) for one in (heap, prologue, required)] == [1, 1, 1]
    assert builder.heap == []
