/** `npm run gate` runs the steps of `.ci/run` after the installation. */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { wholeNumber } from "../command-line.ts";
import { Gate, STEPS } from "./gate.ts";

const { values } = parseArgs({ options: { "installed-in": { type: "string" } } });
const installedInS = wholeNumber("installed-in", values["installed-in"] ?? "0", 0);
const gate = new Gate(resolve(import.meta.dirname, "../../.."));
for (const [signal, exitCode] of [["SIGINT", 130] as const, ["SIGTERM", 143] as const]) {
  process.once(signal, () => {
    gate.stop();
    gate.fail(`ended by ${signal}`);
    gate.printEnd();
    process.exit(exitCode);
  });
}
gate.passed("npm ci", installedInS);
await gate.run(STEPS);
gate.printEnd();
process.exitCode = gate.failures === 0 ? 0 : 1;
