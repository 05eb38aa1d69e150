/** Runs simulations until one breaks an invariant, and prints the number of runs. An entry point, run with a mutant's sources. */
import { constants, setPriority } from "node:os";
import { warmUp } from "@leasehold/test-kit/simulated/dynamodb-service";
import { huntViolation, type Seeds } from "../seeds.ts";

// Its time is virtual, so let processes with real time run first.
setPriority(constants.priority.PRIORITY_LOW);
Error.stackTraceLimit = 0;
await warmUp();
process.stdout.write(JSON.stringify(await huntViolation(JSON.parse(process.argv[2] ?? "") as Seeds)));
