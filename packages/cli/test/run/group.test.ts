/** A term's processes, for who can open no file any more. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const WITHOUT_FILES = fileURLToPath(new URL("./without-files.ts", import.meta.url));

test.runIf(process.platform === "linux")(
  "who cannot look has not seen that they are gone, and ends the command's group all the same",
  async ({ onTestFinished }) => {
    const command = spawn("sleep", ["1000"], { detached: true, stdio: "ignore" });
    onTestFinished(() => void command.kill("SIGKILL"));
    const ended = once(command, "exit");
    const types = process.features.typescript === false ? ["--experimental-strip-types"] : [];
    const line = [process.execPath, "--disable-warning=ExperimentalWarning", ...types, WITHOUT_FILES, String(command.pid)];
    const looking = spawn("/bin/sh", ["-c", 'ulimit -n 64; exec "$@"', "sh", ...line], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    expect(await once(looking, "exit")).toEqual([0, null]);
    expect(await ended).toEqual([null, "SIGTERM"]);
  },
);
