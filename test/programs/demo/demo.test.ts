import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { DemoEvent } from "./demo-event.ts";
import { everyWorkerIsGone, expectStory, freshFolder, start } from "./running-demo.ts";

const SOON_MS = 5_000;

test("by itself, the demo shows its story on SQLite, and leaves nothing behind", async () => {
  const folder = await freshFolder();
  const events = await expectStory("SQLite", start(["--json", "--out", join(folder, "new", "timeline.svg")], { TMPDIR: folder }));
  const picture = await readFile(join(folder, "new", "timeline.svg"), "utf8");
  expect(picture).toMatch(/^<svg[^]*SIGKILL[^]*late write refused[^]*<\/svg>$/);
  expect(picture).toContain("a lease of 2 s on SQLite");
  expect(await readdir(folder)).toEqual(["new"]);
  await everyWorkerIsGone(events);
});

test.each([
  ["demo", "sqlite"],
  ["wrote", "sqlite"],
  // Its server ends by the same signal, and its SDK would ask for it again and again.
  ["wrote", "firestore"],
] as const)("Ctrl-C right after '%s' ends the demo on %s and all its processes, soon", async (name, store) => {
  const folder = await freshFolder();
  const demo = start(["--json", "--store", store], { TMPDIR: folder });
  const events: DemoEvent[] = [];
  let interruptedMs = Infinity;
  for await (const event of demo.events()) {
    // To the whole process group, as a terminal does; twice, as people do.
    const first = event.event === name && !events.some((earlier) => earlier.event === name);
    for (let times = 0; first && times < 2; times += 1) process.kill(-demo.child.pid!, "SIGINT");
    if (first) interruptedMs = performance.now();
    events.push(event);
  }
  expect(await demo.ended).toEqual({ code: 130, stderr: "The demo was ended by SIGINT.\n" });
  expect(performance.now() - interruptedMs).toBeLessThan(SOON_MS);
  expect(await readdir(folder)).toEqual([]);
  await everyWorkerIsGone(events);
});

test("the demo ends when nobody reads its output any more", async () => {
  const demo = start(["--json"]);
  const events: DemoEvent[] = [];
  for await (const event of demo.events()) {
    events.push(event);
    if (event.event === "started-leading") break;
  }
  demo.child.stdout?.destroy();
  expect((await demo.ended).code).toBe(1);
  await everyWorkerIsGone(events);
});

test.each([
  [["--jsn"], "--jsn"],
  [["--out"], "--out"],
  [["--out", ""], "--out"],
  [["picture.svg"], "picture.svg"],
  [["--store", "etcd"], "etcd"],
])("%j is refused before anything starts", async (args, named) => {
  const { code, stderr } = await start(args).ended;
  expect(code).toBe(2);
  expect(stderr).toContain(named);
  expect(stderr).toContain("Usage: npm run demo");
});

test("where the store's server is not installed, it says what to install", async () => {
  const { code, stderr } = await start(["--store", "dynamodb"], { PATH: "/nonexistent" }).ended;
  expect(code).toBe(2);
  expect(stderr).toMatch(/^The demo cannot run on 'dynamodb' here\. moto is not installed: .*pip install.*\n$/);
});
