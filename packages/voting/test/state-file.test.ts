/** The file that a server keeps on its disk, and the process that may use it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, readdir, readFile, rm, stat, writeFile, type FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { onTestFinished, expect, test, vi } from "vitest";
import { lockDirectory } from "../src/directory-lock.ts";
import { StateFile } from "../src/state-file.ts";

const ROSTER = { server: "a", names: ["a", "b", "c"], met: ["b"], hasBegun: true };

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "leasehold-votes-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

async function fileIn(directory: string, told: string[] = []): Promise<StateFile> {
  const file = new StateFile(directory, (message) => told.push(message));
  await file.setRoster(ROSTER);
  return file;
}

test("a written state is read after a start, with its roster, and no other file is left", async () => {
  const directory = await folder();
  const file = await fileIn(directory);
  await file.write("one");
  await file.write("two\nthree");
  await file.setRoster({ ...ROSTER, met: ["b", "c"] });

  const again = new StateFile(directory, () => expect.fail("It is whole."));
  expect(await again.load()).toEqual({ roster: { ...ROSTER, met: ["b", "c"] }, text: "two\nthree" });
  expect(await again.read()).toBe("two\nthree");
  expect(await readdir(directory)).toEqual(["state"]);
});

test.skipIf(process.platform === "win32")("only its own user may read the file", async () => {
  const directory = await folder();
  await (await fileIn(directory)).write("one");
  expect((await stat(join(directory, "state"))).mode & 0o777).toBe(0o600);
});

test("an unused directory has no state, and a roster alone makes no file", async () => {
  const directory = await folder();
  const file = await fileIn(directory);
  expect(await file.load()).toBeUndefined();
  expect(await file.read()).toBeUndefined();
  expect(await readdir(directory)).toEqual([]);
});

test("a file that is torn at any byte, or has one wrong byte, counts as lost, and a warning says so", async () => {
  const directory = await folder();
  await (await fileIn(directory)).write('{"some":"votes"}');
  const whole = await readFile(join(directory, "state"));
  const torn = [
    ...Array.from(whole.keys(), (end) => whole.subarray(0, end)),
    ...Array.from(whole.keys(), (at) => Buffer.from(whole).fill((whole[at] ?? 0) ^ 1, at, at + 1)),
    ...Array.from(whole.keys(), (end) => Buffer.concat([whole.subarray(0, end), Buffer.alloc(whole.length - end)])),
  ];
  for (const bytes of torn) {
    await writeFile(join(directory, "state"), bytes);
    const told: string[] = [];
    const file = new StateFile(directory, (message) => told.push(message));
    expect(await file.load()).toBeUndefined();
    expect(await file.read()).toBeUndefined();
    expect(told).toHaveLength(1);
  }
});

test("no write resolves before its text, or a later one, is on the disk", async () => {
  const directory = await folder();
  const file = await fileIn(directory);
  const writes = Array.from({ length: 10 }, async (_, index) => {
    await file.write(`text ${index}`);
    const { text = "" } = (await new StateFile(directory, () => undefined).load()) ?? {};
    expect(Number(text.slice(5))).toBeGreaterThanOrEqual(index);
  });
  await Promise.all(writes);
});

test("a write has ended once the file is on the disk, and then its name", async () => {
  const directory = await folder();
  const file = await fileIn(directory);
  const handle = await open(directory, "r");
  const handles = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  const steps: string[] = [];
  const spy = vi.spyOn(handles, "sync").mockImplementation(async function (this: FileHandle) {
    const what = (await this.stat()).isDirectory() ? "name" : "file";
    steps.push(`${what} begins, with ${(await readdir(directory)).join()}`);
    await this.datasync();
    await delay(20);
    steps.push(`${what} is synced`);
  });
  onTestFinished(() => spy.mockRestore());
  await file.write("one");
  const names = process.platform === "win32" ? [] : ["name begins, with state", "name is synced"];
  expect(steps).toEqual(["file begins, with state.new", "file is synced", ...names]);
});

test("closing waits for the last write", async () => {
  const directory = await folder();
  const file = await fileIn(directory);
  const writes = [file.write("one")];
  await new Promise((resolve) => setImmediate(resolve));
  writes.push(file.write("two"));
  await file.close();
  expect(await new StateFile(directory, () => undefined).load()).toMatchObject({ text: "two" });
  await Promise.all(writes);
});

test("a write that fails rejects and warns, and later writes still work", async () => {
  const directory = await folder();
  const told: string[] = [];
  const file = await fileIn(directory, told);
  await rm(directory, { recursive: true });
  await expect(file.write("one")).rejects.toThrow("ENOENT");
  expect(told).toEqual([
    `${directory} cannot be written (ENOENT): this server takes no part until it can. It tries again every second.`,
  ]);
});

test("a directory belongs to one server until its process ends in any way", async () => {
  const directory = await folder();
  const lock = new URL("../src/directory-lock.ts", import.meta.url).href;
  const script = `await (await import("${lock}")).lockDirectory(${JSON.stringify(directory)}); console.log("locked"); setInterval(() => {}, 1e9);`;
  const child = spawn(process.execPath, ["--conditions=@leasehold/source", "--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  await expect(lockDirectory(directory)).rejects.toThrow("in use by another process");
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
  const unlock = await lockDirectory(directory);
  await expect(lockDirectory(directory)).rejects.toThrow("in use by another process");
  unlock();
  (await lockDirectory(directory))();
});

test("a lock that is no file of SQLite is an error of its own, and not another server", async () => {
  const directory = await folder();
  await writeFile(join(directory, "lock"), "x".repeat(4_096));
  await expect(lockDirectory(directory)).rejects.toThrow("file is not a database");
});
