/** Outputs whose reader is stuck: a pipe and a socket. Also outputs without a reader. */
import { execFileSync, spawn } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { stderrSink } from "../../src/output/output-sinks.ts";

const SINKS = fileURLToPath(new URL("../../src/output/output-sinks.ts", import.meta.url));

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "leasehold-output-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

/** Creates a pipe whose open file is blocking, as a command that shares it expects. */
function pipe(): number {
  const path = join(folder(), "pipe");
  execFileSync("mkfifo", [path]);
  const fd = openSync(path, constants.O_RDWR);
  onTestFinished(() => closeSync(fd));
  return fd;
}

/** Returns the flags of an open file. */
function flagsOf(fd: number): number {
  return Number.parseInt(/flags:\s*(\d+)/.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "latin1"))![1]!, 8);
}

test.runIf(process.platform === "linux")("a full pipe takes no bytes, and its open file stays blocking", () => {
  const fd = pipe();
  const sink = stderrSink(fd);
  let filled = 0;
  for (let taken = 1; taken > 0; filled += taken) taken = sink.write(Buffer.alloc(4_096));
  expect(sink.write(Buffer.from("x"))).toBe(0);
  expect(flagsOf(fd) & constants.O_NONBLOCK).toBe(0);
  readSync(fd, Buffer.alloc(8_192));
  expect(sink.write(Buffer.from("one line\n"))).toBe(9);
});

test("a file is written to directly", () => {
  const path = join(folder(), "file");
  const fd = openSync(path, "a");
  onTestFinished(() => closeSync(fd));
  writeSync(fd, "before\n");
  expect(stderrSink(fd).write(Buffer.from("after\n"))).toBe(6);
  expect(readFileSync(path, "utf8")).toBe("before\nafter\n");
});

test.runIf(process.platform === "linux").each(["/bin/sh", "/no/such/shell"])(
  "a socket without a reader blocks no writer, and gets all bytes once it is read, with a relay by %s",
  async (shell) => {
    // Node gives a child a socket as standard error. Using `process.stderr` in the child would make this socket non-blocking.
    const program = `
    const { stderrSink } = await import(${JSON.stringify(SINKS)});
    const sink = stderrSink(2, ${JSON.stringify(shell)});
    const line = Buffer.from("x".repeat(9_999) + "\\n");
    let bytes = 0;
    for (let refusals = 0; refusals < 20; ) {
      const taken = sink.write(line);
      bytes += taken;
      if (taken > 0) refusals = 0; else { refusals += 1; await new Promise((resolve) => setTimeout(resolve, 50)); }
    }
    process.stdout.write(bytes + "\\n");
    setInterval(() => {}, 1_000);
    await sink.end();
    process.stdout.write("ended\\n", () => process.exit());`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: ["ignore", "pipe", "pipe"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
    while (!said.includes("\n")) await delay(10);
    let read = 0;
    child.stderr.on("data", (chunk: Buffer) => (read += chunk.length));
    while (!said.includes("ended\n")) await delay(10);
    while (read < Number(said.split("\n")[0])) await delay(10);
    expect(read).toBe(Number(said.split("\n")[0]));
  },
);

test.runIf(process.platform === "linux")("a reader that has left ends the sink", async () => {
  // The reading end of the pipe is closed.
  const path = join(folder(), "pipe");
  execFileSync("mkfifo", [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const fd = openSync(path, constants.O_WRONLY);
  onTestFinished(() => closeSync(fd));
  const sink = stderrSink(fd);
  expect(sink.write(Buffer.from("one\n"))).toBe(4);
  closeSync(reader);
  expect(() => sink.write(Buffer.from("two\n"))).toThrow("EPIPE");
});
