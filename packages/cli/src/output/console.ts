import { Console } from "node:console";
import { Writable } from "node:stream";
import type { Output } from "../process-environment.ts";
import { teller } from "../tell.ts";

/**
 * Sends the console, `process.stderr` and the warnings of this process to one output. Other packages print through these. Node's
 * own streams wait for their readers. They also set flags of the open file, which the command of `run` shares. A warning about an
 * experimental module is dropped, because no user of this command can act on it.
 */
export function takeOverConsole(stderr: Output): void {
  const stream = new Writable({
    decodeStrings: false,
    write(text, _encoding, done) {
      stderr.write(String(text));
      done();
    },
  });
  Object.assign(stream, { isTTY: stderr.isTerminal });
  Object.defineProperty(process, "stderr", { value: stream, configurable: true });
  globalThis.console = new Console(stream);
  const tell = teller({ stderr });
  process.removeAllListeners("warning");
  process.on("warning", ({ name, message }) => {
    if (name !== "ExperimentalWarning") tell(`${name}: ${message}`);
  });
}
