import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";

const MODULE = JSON.stringify(new URL("../../src/output/console.ts", import.meta.url).href);
const PROGRAM = `
  const { takeOverConsole } = await import(${MODULE});
  const output = { isTerminal: false, write: (text) => process.stdout.write(text) };
  takeOverConsole(output, (message) => \`leasehold: \${message}\\n\`);
  console.log("of a package");
  process.stderr.write("of an SDK\\n");
  process.emitWarning("too many listeners", "MaxListenersExceededWarning");
  process.emitWarning("may change", "ExperimentalWarning");
`;

test("what packages print goes to the output, and so do warnings, except those about experimental modules", () => {
  const output = execFileSync(process.execPath, ["--input-type=module", "-e", PROGRAM], { encoding: "utf8" });
  expect(output).toBe("of a package\nof an SDK\nleasehold: MaxListenersExceededWarning: too many listeners\n");
});
