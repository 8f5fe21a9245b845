// Elementwise arithmetic in place, and reductions to numbers, rows or columns.
//
// Functions that take a Matrix first change it; a second operand may be of the other type and is converted.
#pragma once

#include <functional>

#include "core/matrix.hpp"

namespace kbcd {

enum class Unary { exp, log, cos, sin, sqrt, abs, square, tanh, floor, sign };

void apply(const Matrix& a, Unary f);                                 // a = f(a)
void apply(const Matrix& a, const std::function<double(double)>& f);  // one element after the other, in order
void power(const Matrix& a, double exponent);                         // a = a^exponent
void clamp(const Matrix& a, double low, double high);
void fill(const Matrix& a, double value);
void scale(const Matrix& a, double factor);  // a = factor a
void shift(const Matrix& a, double term);    // a = a + term
// a = a + factor b; b may also be one row or one column; `what` begins a message.
void add(const Matrix& a, double factor, const Matrix& b, const char* what = "add");
void multiply(const Matrix& a, const Matrix& b);          // a = a .* b; likewise
void divide(const Matrix& a, const Matrix& b);            // a = a ./ b; likewise
void add_diagonal(const Matrix& a, double term);          // a = a + term I
void add_diagonal(const Matrix& a, const Matrix& terms);  // a = a + diag(terms), one row or one column

double sum(const Matrix& a);
double minimum(const Matrix& a);
double maximum(const Matrix& a);
double norm(const Matrix& a);                  // Frobenius
double dot(const Matrix& a, const Matrix& b);  // trace(a' b)
double trace(const Matrix& a);
bool all_finite(const Matrix& a);
bool all_zero(const Matrix& a);  // stops at the first number that is not 0
double largest_difference(const Matrix& a, const Matrix& b);

Matrix row_sums(const Matrix& a);                   // rows x 1, f64
Matrix col_sums(const Matrix& a);                   // 1 x cols, f64
Matrix col_dots(const Matrix& a, const Matrix& b);  // 1 x cols, f64: a(:, j)·b(:, j)
Matrix row_argmax(const Matrix& a);                 // rows x 1, f64, 1-based; the first of equals
Matrix row_max(const Matrix& a);                    // rows x 1, f64

}  // namespace kbcd
