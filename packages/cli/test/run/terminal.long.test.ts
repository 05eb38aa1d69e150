/** `leasehold run` in a real terminal of tmux: Ctrl-C, and a command that reads the keyboard. */
import { execFileSync, spawnSync } from "node:child_process";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { setTimeout as delay } from "node:timers/promises";
import { commandEnvironment, commandLine, runCommand } from "@leasehold/test-kit/processes/leasehold-command";
import { Terminal, terminalMissing } from "@leasehold/test-kit/processes/terminal";
import { describe, expect, test } from "vitest";
import { Stage } from "./wrapper.ts";

function namespacesMissing(): boolean {
  return process.platform !== "linux" || spawnSync("unshare", ["--pid", "--fork", "--mount-proc", "true"]).status !== 0;
}

/** Starts a terminal in which a shell runs `leasehold run` with a script as its command. */
async function terminalWith(stage: Stage, script: string, after = '; echo "code $?"', before = ""): Promise<Terminal> {
  const terminal = await Terminal.start(["sh"], commandEnvironment({ LEASEHOLD_STORE: stage.store }));
  const line = commandLine(["run", "--election", "e", "--", "sh", stage.write("command", script)]);
  await terminal.press(`${before}${line.join(" ")}${after}`, "Enter");
  return terminal;
}

describe.skipIf(await isMissing(terminalMissing()))("in a terminal", () => {
  test("Ctrl-C reaches the command, whose exit code is the wrapper's", async () => {
    await using stage = new Stage();
    const script = `trap "echo interrupted; exit 9" INT\necho up\nwhile :; do sleep 0.05; done\n`;
    await using terminal = await terminalWith(stage, script);
    await terminal.shows(/^up$/m);
    await terminal.press("C-c");
    expect(await terminal.shows(/^code \d/m)).toMatch(/^(\^C)?interrupted\ncode 9$/m);
  });

  test.skipIf(namespacesMissing())("as the first process, gets INT from outside, and Ctrl-C once", async () => {
    await using stage = new Stage();
    const script = `trap "echo interrupted" INT\ntrap "exit 9" TERM\necho up\nwhile :; do sleep 0.05; done\n`;
    await using terminal = await terminalWith(
      stage,
      script,
      '; echo "code $?"',
      "unshare --pid --fork --mount-proc --kill-child ",
    );
    await terminal.shows(/^up$/m);
    const namespace = execFileSync("pgrep", ["-f", `^unshare.*${stage.folder}`], { encoding: "utf8" }).trim();
    const signalFirst = (signal: string): Buffer => execFileSync("pkill", [`-${signal}`, "-P", namespace]);
    signalFirst("INT");
    await terminal.shows(/^interrupted$/m);
    await terminal.press("C-c");
    await terminal.shows(/^interrupted\n(\^C)?interrupted$/m);
    signalFirst("TERM");
    const shown = await terminal.shows(/^code \d/m);
    expect([shown.match(/interrupted$/gm)?.length, /^code .*$/m.exec(shown)?.[0]]).toEqual([2, "code 9"]);
  });

  test("Ctrl-S delays neither the end of a term nor the exit", async () => {
    await using stage = new Stage();
    await using terminal = await terminalWith(stage, "echo up\nexec sleep 1000\n", `; echo "$?" > ${stage.path("code")}`);
    await terminal.shows(/^up$/m);
    await terminal.press("C-s");
    const { exitCode } = await runCommand(["break", "e", "--reason", "a test", "--yes"], { LEASEHOLD_STORE: stage.store });
    expect(exitCode).toBe(0);
    while (stage.read("code") === "") await delay(20);
    expect(stage.read("code")).toBe("70\n");
  });

  test("a command in the background reads no text that is typed at the shell", async () => {
    await using stage = new Stage();
    const script = 'cat\necho "end of input"\nexec sleep 1000\n';
    await using terminal = await terminalWith(stage, script, " &");
    await terminal.shows(/^end of input$/m);
    for (const word of ["one", "two", "three"]) {
      await terminal.press(`echo typed-${word}`, "Enter");
      await terminal.shows(new RegExp(`^typed-${word}$`, "m"));
    }
    await terminal.press("kill %1; wait; echo over", "Enter");
    await terminal.shows(/^over$/m);
  });

  test("the command reads the keyboard", async () => {
    await using stage = new Stage();
    const script = 'echo "what is it?"\nread -r answer\necho "it is <$answer>"\n';
    await using terminal = await terminalWith(stage, script);
    await terminal.shows(/^what is it\?$/m);
    await terminal.press("a word", "Enter");
    expect(await terminal.shows(/^code \d/m)).toMatch(/^it is <a word>\ncode 0$/m);
  });
});
