/** `leasehold run` in a real terminal, which tmux keeps: Ctrl-C, and a command that reads what is typed. */
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { commandEnvironment, commandLine } from "@leasehold/test-kit/processes/leasehold-command";
import { Terminal, terminalMissing } from "@leasehold/test-kit/processes/terminal";
import { describe, expect, test } from "vitest";
import { Stage } from "./wrapper.ts";

/** A terminal in which a shell runs the command, whose own command is a script. */
async function terminalWith(stage: Stage, script: string): Promise<Terminal> {
  const terminal = await Terminal.start(["sh"], commandEnvironment({ LEASEHOLD_STORE: stage.store }));
  const line = commandLine(["run", "--election", "e", "--", "sh", stage.write("command", script)]);
  await terminal.press(`${line.join(" ")}; echo "code $?"`, "Enter");
  return terminal;
}

describe.skipIf(await isMissing(terminalMissing()))("in a terminal", () => {
  test("Ctrl-C is the command's, and its answer the exit code", async () => {
    await using stage = new Stage();
    const script = `trap "echo interrupted; exit 9" INT\necho up\nwhile :; do sleep 0.05; done\n`;
    await using terminal = await terminalWith(stage, script);
    await terminal.shows(/^up$/m);
    await terminal.press("C-c");
    expect(await terminal.shows(/^code \d/m)).toMatch(/^(\^C)?interrupted\ncode 9$/m);
  });

  test("the command reads what is typed", async () => {
    await using stage = new Stage();
    const script = 'echo "what is it?"\nread -r answer\necho "it is <$answer>"\n';
    await using terminal = await terminalWith(stage, script);
    await terminal.shows(/^what is it\?$/m);
    await terminal.press("a word", "Enter");
    expect(await terminal.shows(/^code \d/m)).toMatch(/^it is <a word>\ncode 0$/m);
  });
});
