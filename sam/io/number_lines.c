/* Reads lines of plain numbers: coordinates, then the value; and writes coordinates before values.
   `number_lines.py` says what is plain.

   Decimals become the nearest double by the algorithm of Eisel and Lemire (D. Lemire, "Number
   parsing at a gigabyte per second", 2021); the C library's strtod does the rare rest. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct {
    const char *at, *end;   /* the byte at `end` is a line end */
    const uint64_t *powers; /* of 5: two words for each of the exponents -342 to 308 */
} Input;

enum { LEAST_POWER = -342, MOST_POWER = 308, COORDINATE_DIGITS = 15, INTEGER_DIGITS = 18 };

static inline int is_digit(char c) { return (unsigned char)(c - '0') < 10; }
static inline int is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }
static inline int is_end(char c) { return is_space(c) || c == '\n'; }

static inline void skip_spaces(Input *in)
{
    while (is_space(*in->at)) in->at++;
}

/* A word of at most `most` digits; 0 where it is anything else. */
static inline int read_digits(Input *in, int most, int64_t *found)
{
    const char *begin = in->at;
    uint64_t number = 0;
    while (is_digit(*in->at)) number = 10 * number + (uint64_t)(*in->at++ - '0');
    *found = (int64_t)number;
    return in->at > begin && in->at - begin <= most && is_end(*in->at);
}

static int read_integer(Input *in, int64_t *found)
{
    int negative = *in->at == '-';
    in->at += negative;
    int plain = read_digits(in, INTEGER_DIGITS, found);
    if (negative) *found = -*found;
    return plain;
}

/* digits * 10^power as a double; 0 where the algorithm does not decide, or it is not normal. */
static inline int decimal(uint64_t digits, int power, const uint64_t *powers, double *found)
{
    static const double exact[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (digits >> 53 == 0 && -22 <= power && power <= 22) {
        *found = power < 0 ? (double)digits / exact[-power] : (double)digits * exact[power];
        return 1;
    }
    if (digits == 0) {
        *found = 0;
        return 1;
    }
    if (power < LEAST_POWER || power > MOST_POWER) return 0;
    const uint64_t *five = powers + 2 * (power - LEAST_POWER);
    int zeros = __builtin_clzll(digits);
    digits <<= zeros;
    unsigned __int128 product = (unsigned __int128)digits * five[0];
    uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
    if ((high & 0x1FF) == 0x1FF) {
        uint64_t more = (uint64_t)((unsigned __int128)digits * five[1] >> 64);
        low += more;
        high += low < more;
    }
    if (low == UINT64_MAX && (power < -27 || power > 55)) return 0;
    int upper = (int)(high >> 63);
    uint64_t mantissa = high >> (upper + 9);
    int exponent = ((217706 * power) >> 16) + 63 + upper - zeros + 1023;
    if (exponent <= 0) return 0;
    if (low <= 1 && power >= -4 && power <= 23 && (mantissa & 3) == 1 &&
        mantissa << (upper + 9) == high)
        mantissa &= ~(uint64_t)1; /* half way between two: to the even one */
    mantissa = (mantissa + (mantissa & 1)) >> 1;
    if (mantissa >> 53) {
        mantissa >>= 1;
        exponent++;
    }
    if (exponent >= 0x7FF) return 0;
    uint64_t bits = (mantissa & (((uint64_t)1 << 52) - 1)) | (uint64_t)exponent << 52;
    memcpy(found, &bits, sizeof bits);
    return 1;
}

/* The words nan, inf and infinity; 0 for others. */
static int read_special(Input *in, double *found)
{
    const char *begin = in->at;
    while (!is_end(*in->at)) in->at++;
    size_t length = (size_t)(in->at - begin);
    int is_nan = length == 3 && strncasecmp(begin, "nan", 3) == 0;
    int is_infinity = (length == 3 || length == 8) && strncasecmp(begin, "infinity", length) == 0;
    *found = is_nan ? NAN : INFINITY;
    return is_nan || is_infinity;
}

/* What strtod makes of a word; 0 where it does not take the whole of it. */
static int read_by_library(const char *begin, const char *end, double *found)
{
    char word[1100];
    size_t length = (size_t)(end - begin);
    if (length >= sizeof word) return 0;
    for (size_t n = 0; n < length; n++) word[n] = begin[n] == 'd' || begin[n] == 'D' ? 'e' : begin[n];
    word[length] = 0;
    char *stopped;
    *found = strtod(word, &stopped);
    return stopped == word + length;
}

static inline int read_real(Input *in, double *found)
{
    int negative = *in->at == '-';
    in->at += negative;
    const char *begin = in->at;
    if (!is_digit(*begin) && *begin != '.') {
        int known = read_special(in, found);
        if (negative) *found = -*found;
        return known;
    }
    uint64_t digits = 0;
    while (is_digit(*in->at)) digits = 10 * digits + (uint64_t)(*in->at++ - '0');
    int64_t count = in->at - begin, power = 0;
    if (*in->at == '.') {
        const char *point = ++in->at;
        while (is_digit(*in->at)) digits = 10 * digits + (uint64_t)(*in->at++ - '0');
        power = point - in->at;
        count -= power;
    }
    if (count == 0) return 0;
    if (count > 19) /* leading zeros are no digits that count */
        for (const char *at = begin; *at == '0' || *at == '.'; at++) count -= *at == '0';
    if (*in->at == 'e' || *in->at == 'E' || *in->at == 'd' || *in->at == 'D') {
        in->at++;
        int below = *in->at == '-', exponent = 0;
        in->at += below || *in->at == '+';
        const char *first = in->at;
        while (is_digit(*in->at) && in->at - first < 9) exponent = 10 * exponent + (*in->at++ - '0');
        if (in->at == first) return 0;
        power += below ? -exponent : exponent;
    }
    if (!is_end(*in->at)) return 0;
    if (count > 19 || power != (int)power || !decimal(digits, (int)power, in->powers, found)) {
        if (!read_by_library(begin, in->at, found)) return 0;
    }
    if (negative) *found = -*found;
    return 1;
}

/* The number of line ends. */
int64_t sam_line_ends(const char *text, int64_t size)
{
    int64_t count = 0;
    for (int64_t n = 0; n < size; n++) count += text[n] == '\n';
    return count;
}

/* The number of lines that are not blank, whose numbers are stored; -1 where one is not plain.

   The text ends with a line end. `coordinates` has `modes` rows of `room` places. A line has
   `values` values, 0 to 2, which are integers or real numbers. */
int64_t sam_read_lines(const char *text, int64_t size, const uint64_t *powers, int64_t modes,
                       int64_t *coordinates, int64_t room, int64_t values, int64_t are_integers,
                       void *stored)
{
    Input in = {text, text + size, powers};
    int64_t line = 0;
    double *real = stored;
    int64_t *whole = stored;
    while (in.at < in.end) {
        skip_spaces(&in);
        if (*in.at == '\n') {
            in.at++;
            continue;
        }
        for (int64_t mode = 0; mode < modes; mode++) {
            if (!read_digits(&in, COORDINATE_DIGITS, coordinates + mode * room + line)) return -1;
            skip_spaces(&in);
        }
        for (int64_t n = 0; n < values; n++) {
            int plain = are_integers ? read_integer(&in, whole++) : read_real(&in, real++);
            if (!plain) return -1;
            skip_spaces(&in);
        }
        if (*in.at++ != '\n') return -1;
        line++;
    }
    return line;
}

/* Writes each line of `values` behind the coordinates of its entry, counted from 1; the size of the
   lines written. `coordinates` has `modes` rows of `entries`. */
int64_t sam_write_lines(int64_t modes, int64_t entries, const int64_t *coordinates,
                        const char *values, char *lines)
{
    char *at = lines;
    for (int64_t n = 0; n < entries; n++) {
        for (int64_t mode = 0; mode < modes; mode++) {
            char digits[20];
            int first = sizeof digits;
            uint64_t number = (uint64_t)coordinates[mode * entries + n] + 1;
            do digits[--first] = (char)('0' + number % 10);
            while (number /= 10);
            memcpy(at, digits + first, sizeof digits - (size_t)first);
            at += sizeof digits - (size_t)first;
            *at++ = ' ';
        }
        do *at++ = *values;
        while (*values++ != '\n');
    }
    return at - lines;
}
