import { createHash } from "node:crypto";
import { open, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Disk } from "./disk.ts";
import { asRoster, type Roster } from "./roster.ts";

const NAME = "state";
/** The file's first line, with the checksum of all that follows. */
const HEAD = /^leasehold-voting 1 ([0-9a-f]{64})\n/;

/** The content of one server's file. */
export interface State {
  readonly roster: Roster;
  /** The text that the voter has written. */
  readonly text: string;
}

/**
 * One file in a directory that only this process uses. Each write replaces the whole file, and resolves once the new file is on
 * the disk. The text is written beside the file, synced and renamed; then the directory is synced. Writes that are requested
 * while one is under way become one write.
 */
export class StateFile implements Disk {
  readonly #directory: string;
  readonly #tell: (message: string) => void;
  #roster: Roster | undefined;
  #text = "";
  /** Resolves after the write that waits for the present one; undefined if none waits. */
  #next: Promise<void> | undefined;
  #present: Promise<void> = Promise.resolve();

  /** @param tell receives messages for a person. */
  constructor(directory: string, tell: (message: string) => void) {
    this.#directory = directory;
    this.#tell = tell;
  }

  /** Reads the state from before this start; undefined if there is no file, or if it is not intact. */
  async load(): Promise<State | undefined> {
    const bytes = await readFile(join(this.#directory, NAME)).catch((error: unknown) => {
      if ((error as { readonly code?: unknown }).code === "ENOENT") return undefined;
      throw error;
    });
    if (!bytes) return undefined;
    const state = stateOf(bytes.toString());
    if (!state) this.#tell(`the file in ${this.#directory} is not whole: what it has said counts as lost.`);
    this.#text = state?.text ?? "";
    return state;
  }

  /** Sets the roster. Once the voter has written a text, the file is written again with the roster beside it. */
  async setRoster(roster: Roster): Promise<void> {
    this.#roster = roster;
    if (this.#text !== "") await this.#save();
  }

  read(): Promise<string | undefined> {
    return Promise.resolve(this.#text === "" ? undefined : this.#text);
  }

  async write(text: string): Promise<void> {
    this.#text = text;
    try {
      await this.#save();
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      const why = code ?? message;
      this.#tell(
        `${this.#directory} cannot be written (${why}): this server takes no part until it can. It tries again every second.`,
      );
      throw error;
    }
  }

  /** Resolves once all writes have ended. */
  async close(): Promise<void> {
    await (this.#next ?? this.#present).catch(() => undefined);
  }

  async #save(): Promise<void> {
    this.#next ??= this.#present
      .catch(() => undefined)
      .then(async () => {
        this.#present = this.#next ?? this.#present;
        this.#next = undefined;
        if (!this.#roster) throw new Error("Nobody has said whose file this is.");
        await replace(this.#directory, textOf({ roster: this.#roster, text: this.#text }));
      });
    await this.#next;
  }
}

function textOf({ roster, text }: State): string {
  const body = `${JSON.stringify(roster)}\n${text}`;
  return `leasehold-voting 1 ${checksum(body)}\n${body}`;
}

/** Parses a file; undefined if it is not intact. */
function stateOf(content: string): State | undefined {
  const [head, expected] = HEAD.exec(content) ?? [];
  if (head === undefined) return undefined;
  const body = content.slice(head.length);
  if (checksum(body) !== expected) return undefined;
  const end = body.indexOf("\n");
  const roster = asRoster(body.slice(0, end));
  return roster && { roster, text: body.slice(end + 1) };
}

function checksum(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

async function replace(directory: string, content: string): Promise<void> {
  const [path, beside] = [join(directory, NAME), join(directory, `${NAME}.new`)];
  // Use a new file for each write: after a failed sync, the content of the old one is unknown.
  await rm(beside, { force: true });
  const file = await open(beside, "wx", 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(beside, path);
  await syncDirectory(directory);
}

/** Syncs the directory, so that the name leads to the new file after a power cut as well. */
async function syncDirectory(directory: string): Promise<void> {
  // Windows does not sync directories, and keeps the order of changes to names itself.
  if (process.platform === "win32") return;
  const handle = await open(directory, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
