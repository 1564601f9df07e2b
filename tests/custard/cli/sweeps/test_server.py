"""The server that processes fork from."""

import subprocess
import sys

import pytest

needs_fork = pytest.mark.skipif(sys.platform == "win32", reason="there is no server")

SCRIPT = """if True:
    from custard.cli.sweeps import server
    both = "[*{'fractions', 'statistics'} & {*__import__('sys').modules}]"
    if __name__ == "__main__":
        for modules in (["fractions"], ["statistics"]):
            with server.context(modules).Pool(1) as pool:
                print(pool.apply(eval, (both,)))
"""


@needs_fork
def test_processes_have_the_modules_of_the_first_server(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    told = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert (told.stdout, told.stderr) == ("['fractions']\n" * 2, "")
