import { Console } from "node:console";
import { Writable } from "node:stream";
import type { Output } from "../verb.ts";
import { messageText } from "../text.ts";

/**
 * Sends the console, `process.stderr` and the warnings of this process to one output. Other packages print through these. Node's
 * own streams wait for their readers. They also set flags of the open file, which the command of `run` shares. A warning about an
 * experimental module is dropped, because no user of this command can act on it. `lineOf` makes a line of another warning.
 */
export function takeOverConsole(stderr: Output, lineOf: (message: string) => string): void {
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
  process.removeAllListeners("warning");
  process.on("warning", ({ name, message }) => {
    if (name !== "ExperimentalWarning") stderr.write(lineOf(messageText(`${name}: ${message}`)));
  });
}
