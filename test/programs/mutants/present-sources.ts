import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { tellBlocks } from "./blocks.ts";
import { apply, type Mutant } from "./mutate.ts";
import { ROOT, type SourceFile } from "./sources.ts";

/** The present sources of a package, with a mutant or without, in a folder from which a test's processes read them too. */
export class PresentSources implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "leasehold-mutants-"));
  readonly #files: ReadonlyMap<string, SourceFile>;

  constructor(files: readonly SourceFile[]) {
    this.#files = new Map(files.map((file) => [join(ROOT, file.path), file]));
    for (const [path, { source }] of this.#files) this.#write(path, source);
  }

  /** The program that a Node process has to load first to get these sources. */
  get preload(): string {
    const url = pathToFileURL(fileURLToPath(new URL("./child.ts", import.meta.url)));
    url.searchParams.set("sources", this.#folder);
    return url.href;
  }

  /** Reads a file by its path. Returns `undefined` for a file that is no source of the package. */
  read(path: string): string | undefined {
    return this.#files.has(path) ? readFileSync(join(this.#folder, path), "utf8") : undefined;
  }

  /** Inserts a mutant. Returns the path of the changed file. */
  change(mutant: Mutant): string {
    return this.#replace(mutant, (source) => apply(source, mutant));
  }

  /** Removes the mutant. */
  restore(mutant: Mutant): string {
    return this.#replace(mutant, (source) => source);
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true });
  }

  #replace({ file }: Mutant, change: (source: string) => string): string {
    const path = join(ROOT, file);
    this.#write(path, change(this.#files.get(path)!.source));
    return path;
  }

  #write(path: string, source: string): void {
    const place = join(this.#folder, path);
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, tellBlocks(source, this.#files.get(path)!.base));
  }
}
