// What a person types at the prompt, byte by byte: from the terminal or, under mpirun, which holds the terminal, from
// mpirun's pipe.
//
// In the second case rank 0 opens the terminal itself, to set its mode and to write to it. The terminal then sends no
// signals, which would end mpirun: Ctrl-C is a byte like any other. While a line runs, a thread looks for it and stops
// all ranks by SIGUSR1.
#pragma once

#include <cstdio>

namespace kbcd::keys {

bool person_at(int descriptor);  // it is a terminal, or it is mpirun's pipe and mpirun's own is one
bool at_terminal();              // whether lines can be edited
bool through_mpirun();
FILE* terminal();         // to set its mode and to write; nullptr where there is none
void restore_terminal();  // the mode that it had at first

enum class Event { key, end, signal };

Event next(unsigned char& key);  // waits for a key or for a recorded signal

// Around the run of a line. Under mpirun: how often the ranks were stopped in this session so far.
void begin_run();
int end_run();

}  // namespace kbcd::keys
