std = "luajit"
max_line_length = 120
globals = { "help", "who" }
exclude_files = { "build*/**" }
