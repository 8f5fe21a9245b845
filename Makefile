# Sets the machine up and calls CMake. CMakeLists.txt is the real build.

BUILD  ?= build
PREFIX ?= /usr/local
RANKS  ?= 2
MPIRUN  = OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun -quiet --oversubscribe -n $(RANKS)

.PHONY: all demo examples test fuzz sanitize cluster faults property prompt soak install format clean packages

all: $(BUILD)/CMakeCache.txt
	@cmake --build $(BUILD) --parallel

# Packages are installed once for each change of the list.
$(BUILD)/packages: .ci/packages
	@.ci/packages
	@mkdir -p $(BUILD) && touch $@

# A build tree that was configured before keeps its generator.
$(BUILD)/CMakeCache.txt: CMakeLists.txt tests/CMakeLists.txt | $(BUILD)/packages
	@cmake -S . -B $(BUILD) $(if $(wildcard $@),,-G Ninja)
	@touch $@

packages: $(BUILD)/packages

demo: all
	@$(MPIRUN) $(BUILD)/kbcd demo -o $(BUILD)/demo

# The paper's three tasks (text, vision, speech) on data that Debian packages (.ci/packages), in minutes; `make examples
# FULL=1` uses all of the data.
examples: all
	@for example in packages cifar speech; do \
	  echo "== $$example"; \
	  $(MPIRUN) $(BUILD)/kbcd examples/$$example $(if $(FULL),--full) || exit 1; \
	done

test: all
	@ctest --test-dir $(BUILD) --output-on-failure --parallel $$(nproc)

# Longer tests; `make test` has a short share of each.
RUNS     ?= 1000000
KILLS    ?= 50
PROBLEMS ?= 200
SESSIONS ?= 200
TIMES    ?= 5
SECONDS  ?= 3600
SEED     ?= $(shell date +%s | tail -c 6)
AS_ROOT   = OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
SPEC      = $(AS_ROOT) KBCD=$(abspath $(BUILD))/kbcd KBCD_SOURCE=$(CURDIR) KBCD_PATH=$(CURDIR)/tests/support \
            KBCD_MPIRUN="mpirun --oversubscribe"

fuzz: $(BUILD)/CMakeCache.txt
	@tests/fuzz/run $(BUILD)/fuzz $(RUNS) $(PARSERS)
	@ONLY=api RUNS=$(RUNS) tests/sanitize $(BUILD)

sanitize: $(BUILD)/CMakeCache.txt
	@tests/sanitize $(BUILD)

faults: all
	@$(SPEC) KBCD_SEED=$(SEED) KBCD_KILLS=$(KILLS) $(BUILD)/kbcd tests/endurance/faults_spec.lua

cluster: all
	@python3 tests/cluster/separate.py $(BUILD)/kbcd
	@python3 tests/cluster/faults.py $(BUILD)/kbcd all $(TIMES)

property: all
	@$(SPEC) KBCD_SEED=$(SEED) KBCD_PROBLEMS=$(PROBLEMS) $(BUILD)/kbcd tests/endurance/property_spec.lua

prompt: all
	@$(SPEC) KBCD_SLOWER=3 python3 tests/endurance/prompt_sessions.py $(SESSIONS) $(SEED)

soak: all
	@$(SPEC) KBCD_SOAK=$(SECONDS) $(MPIRUN) $(BUILD)/kbcd tests/endurance/soak_spec.lua

install: all
	@cmake --install $(BUILD) --prefix $(PREFIX)

format:
	@clang-format -i $$(find core modules bindings tests -name '*.[ch]pp')

clean:
	@rm -rf $(BUILD)
