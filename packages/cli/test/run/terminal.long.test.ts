/** `leasehold run` in a real terminal of tmux: Ctrl-C, and a command that reads the keyboard. */
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { setTimeout as delay } from "node:timers/promises";
import { commandEnvironment, commandLine, runCommand } from "@leasehold/test-kit/processes/leasehold-command";
import { Terminal, terminalMissing } from "@leasehold/test-kit/processes/terminal";
import { describe, expect, test } from "vitest";
import { Stage } from "./wrapper.ts";

/** Starts a terminal in which a shell runs `leasehold run` with a script as its command. */
async function terminalWith(stage: Stage, script: string, after = '; echo "code $?"'): Promise<Terminal> {
  const terminal = await Terminal.start(["sh"], commandEnvironment({ LEASEHOLD_STORE: stage.store }));
  const line = commandLine(["run", "--election", "e", "--", "sh", stage.write("command", script)]);
  await terminal.press(`${line.join(" ")}${after}`, "Enter");
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
