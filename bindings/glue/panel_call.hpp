// Calls a Lua function on a panel of numbers: how a kernel or a feature map that is written in Lua computes its values.
#pragma once

#include <algorithm>

#include "bindings/glue/def.hpp"

namespace kbcd::lua {

// out = f(Matrix of the rows of `in`, more…). `what` names the function in messages.
template <class T, class... More>
void call_on_panel(const char* what, const Callback& f, View<T> in, View<T> out, const More&... more) {
  Matrix panel(in.rows, in.cols, dtype_of<T>);
  for (Int i = 0; i < in.rows; ++i) std::copy_n(in.line(i), in.cols, panel.view<T>().line(i));
  Matrix values = result_of<Matrix>(what, f(panel, more...));
  require(values.rows() == out.rows && values.cols() == out.cols, "{} must return {}x{} for the {} it gets, got {}",
          what, out.rows, out.cols, panel.shape(), values.shape());
  values = values.contiguous(dtype_of<T>);
  for (Int i = 0; i < out.rows; ++i) std::copy_n(values.view<T>().line(i), out.cols, out.line(i));
}

}  // namespace kbcd::lua
