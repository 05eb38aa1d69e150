import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InstalledExample } from "./installed-example.ts";
import { startRegistry, type Registry } from "./registry.ts";

/** A temporary folder, a registry of our packed packages, and the examples that were installed from it: once for all tests. */
export class Workshop implements AsyncDisposable {
  readonly #cleanup = new AsyncDisposableStack();
  readonly #installed = new Map<string, Promise<InstalledExample>>();
  #folder: Promise<string> | undefined;
  #registry: Promise<Registry> | undefined;
  #busy: Promise<unknown> = Promise.resolve();

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

  /**
   * Installs an example, and runs a script of its package.json. One after the other: those that are installed already run
   * meanwhile, and have leases to renew.
   */
  async install(name: string, script: string): Promise<InstalledExample> {
    const known = this.#installed.get(name);
    if (known) return await known;
    const installing = this.#busy.then(async () => {
      const example = await InstalledExample.install(name, await this.folder, await this.registry);
      await example.run("npm", "run", script);
      return example;
    });
    this.#installed.set(name, installing);
    this.#busy = installing.catch(() => undefined);
    return await installing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cleanup.disposeAsync();
  }
}
