# A thin front to CMake that also sets the machine up. CMakeLists.txt is the real build.

BUILD  ?= build
PREFIX ?= /usr/local
RANKS  ?= 2
MPIRUN  = OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun -quiet --oversubscribe -n $(RANKS)

.PHONY: all demo test install format clean packages

all: $(BUILD)/CMakeCache.txt
	@cmake --build $(BUILD) --parallel

# Packages are looked up once for each change of the list.
$(BUILD)/packages: .ci/packages
	@.ci/packages
	@mkdir -p $(BUILD) && touch $@

# A tree that CMake configured before keeps its generator.
$(BUILD)/CMakeCache.txt: CMakeLists.txt tests/CMakeLists.txt | $(BUILD)/packages
	@cmake -S . -B $(BUILD) $(if $(wildcard $@),,-G Ninja)
	@touch $@

packages: $(BUILD)/packages

demo: all
	@$(MPIRUN) $(BUILD)/kbcd demo -o $(BUILD)/demo

test: all
	@ctest --test-dir $(BUILD) --output-on-failure

install: all
	@cmake --install $(BUILD) --prefix $(PREFIX)

format:
	@clang-format -i $$(find core modules bindings tests -name '*.[ch]pp')

clean:
	@rm -rf $(BUILD)
