std = "luajit"
max_line_length = 126
globals = { "help", "who" }
exclude_files = { "build*/**" }
