import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { tellBlocks } from "./blocks.ts";
import { apply, type Mutant } from "./mutate.ts";
import { ROOT, type SourceFile } from "./sources.ts";

/** The sources of a package as they are now, with a mutant or without, in a folder from which a test's processes read them, too. */
export class PresentSources implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "leasehold-mutants-"));
  readonly #files: ReadonlyMap<string, SourceFile>;

  constructor(files: readonly SourceFile[]) {
    this.#files = new Map(files.map((file) => [join(ROOT, file.path), file]));
    for (const [path, { source }] of this.#files) this.#write(path, source);
  }

  /** What a Node process loads first that is to have them. */
  get preload(): string {
    const url = pathToFileURL(fileURLToPath(new URL("./child.ts", import.meta.url)));
    url.searchParams.set("sources", this.#folder);
    return url.href;
  }

  /** Reads a file, by its path; undefined for what is no source of the package. */
  read(path: string): string | undefined {
    return this.#files.has(path) ? readFileSync(join(this.#folder, path), "utf8") : undefined;
  }

  /** Puts a mutant in. Returns the path of the file that has changed. */
  change(mutant: Mutant): string {
    return this.#replace(mutant, (source) => apply(source, mutant));
  }

  /** Takes it out again. */
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
