import { execFile } from "node:child_process";
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { userEnvironment } from "@leasehold/test-kit/processes/user-environment";
import type { Registry } from "./registry.ts";

/** Installs the packages that the package.json of a folder names, ours from the registry. */
export async function installIn(folder: string, registry: Registry): Promise<void> {
  await writeFile(join(folder, ".npmrc"), registry.npmrc);
  const args = ["install", "--prefer-offline", "--no-audit", "--no-fund"];
  await promisify(execFile)("npm", args, { cwd: folder, env: userEnvironment() });
}

/** A copy of one of our examples, in the state in which a user has it. */
export class InstalledExample {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Runs a program in its folder to the end, and returns its output. @throws with the whole output if the program fails. */
  async run(command: string, ...args: readonly string[]): Promise<string> {
    return await this.runWith({}, command, ...args);
  }

  /** The same, with variables of the environment. */
  async runWith(env: NodeJS.ProcessEnv, command: string, ...args: readonly string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(command, args, { cwd: this.folder, env: { ...userEnvironment(), ...env } });
    return stdout;
  }

  async read(file: string): Promise<string> {
    return await readFile(join(this.folder, file), "utf8");
  }

  /**
   * Copies the build from `dist` to another folder beside it, and changes one file there. @throws if the file does not contain
   * `from`.
   */
  async copyBuild(to: string, file: string, from: string, by: string): Promise<void> {
    await cp(join(this.folder, "dist"), join(this.folder, to), { recursive: true });
    const before = await this.read(`dist/${file}`);
    if (!before.includes(from)) throw new Error(`There is no '${from}' in dist/${file}.`);
    await writeFile(join(this.folder, to, file), before.replace(from, by));
  }
}
