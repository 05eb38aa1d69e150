import { execFile } from "node:child_process";
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { userEnvironment } from "@leasehold/test-kit/processes/user-environment";
import type { Registry } from "./registry.ts";

const examples = join(import.meta.dirname, "../../../examples");

/** A copy of one of our examples in a folder of its own, as whoever has copied it would use it. */
export class InstalledExample {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** Copies the example into `parent`, and installs what its package.json names. */
  static async install(name: string, parent: string, registry: Registry): Promise<InstalledExample> {
    const example = new InstalledExample(join(parent, name));
    await cp(join(examples, name), example.folder, { recursive: true });
    await writeFile(join(example.folder, ".npmrc"), registry.npmrc);
    await example.run("npm", "install", "--prefer-offline", "--no-audit", "--no-fund");
    return example;
  }

  /** Runs a program in its folder to the end, and returns what it printed. @throws with all of that where it fails. */
  async run(command: string, ...args: readonly string[]): Promise<string> {
    return await this.runWith({}, command, ...args);
  }

  /** The same with variables of the environment. */
  async runWith(env: NodeJS.ProcessEnv, command: string, ...args: readonly string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(command, args, { cwd: this.folder, env: { ...userEnvironment(), ...env } });
    return stdout;
  }

  async read(file: string): Promise<string> {
    return await readFile(join(this.folder, file), "utf8");
  }
}
