import { inMemory } from "@leasehold/test-kit/conformance/memory";
import { runConformance } from "@leasehold/test-kit/conformance/run-conformance";

runConformance(inMemory);
