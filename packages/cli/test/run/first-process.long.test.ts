/** `leasehold run` as the first process of a PID namespace, as in a container: the system gives it the orphans. */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { Stage } from "./wrapper.ts";

const NAMESPACE = ["--pid", "--fork", "--mount-proc", "--kill-child"];

function missing(): string | undefined {
  if (process.platform !== "linux") return "PID namespaces are Linux's";
  const tried = spawnSync("unshare", [...NAMESPACE, "true"]);
  return tried.status === 0 ? undefined : "no PID namespace can be made here: run as root, with unshare of util-linux";
}

const isSkipped = await isMissing(Promise.resolve(missing()));

test.skipIf(isSkipped)("reaps orphans, releases its lease, and ends with the command's code", async () => {
  await using stage = new Stage();
  // Orphans of the group, and some that have left it. The test waits until they are gone; a zombie of the first process would keep it
  // waiting. The backup guard is a shell, which reaps its own children later.
  const orphans = `for name in 1 2 3 4 5; do (sh -c "exit 0" & setsid sh -c "exit 0" &); done
    while ps -o stat=,ppid= -A | grep -Eq "^Z.* 1$"; do sleep 0.05; done; ps -o pid=,comm= -A > "$TABLE"; exit 6`;
  const script = `unshare ${NAMESPACE.join(" ")} "$@"`;
  const env = { TABLE: stage.path("table") };
  const first = await stage.run({ command: ["sh", "-c", orphans], args: ["--lease", "60s"], env, script });
  expect([first.code, first.stderr]).toEqual([6, expect.stringContaining("in term 1")]);
  expect(stage.read("table")).toMatch(/^ +1 sh$/m);
  // It is elected only because the lease has been released.
  const second = await stage.run({ command: ["true"], args: ["--lease", "60s", "--wait", "0s"] });
  expect(second.code).toBe(0);
});

test.skipIf(isSkipped)("passes TERM on, and ends the processes that are left", async () => {
  await using stage = new Stage();
  const script = `unshare ${NAMESPACE.join(" ")} "$@" & child=$!; trap 'pkill -TERM -P $child; wait $child; exit $?' TERM; wait $child`;
  const command = ["sh", "-c", 'trap "exit 5" TERM; setsid sleep 1000 & echo up; while :; do sleep 0.05; done'];
  const wrapper = stage.start({ command, args: ["--lease", "60s"], script });
  await wrapper.wrote(/up/);
  wrapper.signal("SIGTERM");
  expect(await wrapper.exited).toBe(5);
});

test.skipIf(isSkipped)("gives the command its standard input", async () => {
  await using stage = new Stage();
  const script = `unshare ${NAMESPACE.join(" ")} "$@"`;
  const wrapper = await stage.run({ command: ["cat"], input: "a line\n", script });
  expect([wrapper.code, wrapper.stdout]).toEqual([0, "a line\n"]);
});
