import { existsSync } from "node:fs";
import { cp, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inTurn } from "@leasehold/test-kit/candidates/turns";
import { GoogleTemplate } from "./google-template.ts";
import { InstalledExample, installIn } from "./installed-example.ts";
import { startRegistry, type Registry } from "./registry.ts";

export const EXAMPLES: string = join(import.meta.dirname, "../../../examples");

/** Values for the variables of the stack of infra/gcp. */
const GOOGLE_VARIABLES = { project: "local", location: "europe-west1", other_location: "us-east4" };

/** A temporary folder, a registry of our packed packages, and the examples installed from it. All tests share them. */
export class Workshop implements AsyncDisposable {
  readonly #cleanup = new AsyncDisposableStack();
  readonly #built = new Map<string, Promise<InstalledExample>>();
  #folder: Promise<string> | undefined;
  #registry: Promise<Registry> | undefined;
  #installed: Promise<string> | undefined;
  #template: Promise<GoogleTemplate> | undefined;

  get folder(): Promise<string> {
    this.#folder ??= mkdtemp(join(tmpdir(), "leasehold-examples-")).then((folder) => {
      this.#cleanup.defer(async () => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
      return folder;
    });
    return this.#folder;
  }

  get registry(): Promise<Registry> {
    this.#registry ??= this.folder.then(async (folder) => this.#cleanup.use(await startRegistry(folder)));
    return this.#registry;
  }

  /** The stack with which infra/gcp deploys the example for Google Cloud. */
  get googleTemplate(): Promise<GoogleTemplate> {
    this.#template ??= this.folder.then(async (folder) => GoogleTemplate.synthesize(folder, GOOGLE_VARIABLES));
    return this.#template;
  }

  /** Installs the examples, and runs a script of the package.json of one. */
  async install(name: string, script: string): Promise<InstalledExample> {
    let built = this.#built.get(name);
    if (!built) {
      this.#installed ??= this.#installAll();
      built = this.#installed.then(async (parent) => {
        const example = new InstalledExample(join(parent, name));
        await inTurn(async () => example.run("npm", "run", script));
        return example;
      });
      this.#built.set(name, built);
    }
    return await built;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cleanup.disposeAsync();
  }

  /** Installs all examples at once, as the workspaces of one package, because eight installs would take four times as long. */
  async #installAll(): Promise<string> {
    const folder = join(await this.folder, "examples");
    await cp(EXAMPLES, folder, { recursive: true });
    const workspaces = (await readdir(EXAMPLES, { withFileTypes: true })).filter((each) => each.isDirectory());
    const manifest = { name: "examples", private: true, workspaces: workspaces.map(({ name }) => name) };
    await writeFile(join(folder, "package.json"), JSON.stringify(manifest));
    await installIn(folder, await this.registry);
    // Give each example `node_modules` beside its package.json, as if it were installed alone. Some commands name files there.
    for (const { name } of workspaces) {
      const own = join(folder, name, "node_modules");
      if (!existsSync(own)) await symlink("../node_modules", own);
    }
    return folder;
  }
}
