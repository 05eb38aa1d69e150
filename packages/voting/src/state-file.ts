import { createHash } from "node:crypto";
import { open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Disk } from "./state-writer.ts";
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
 * the disk.
 */
export class StateFile implements Disk {
  readonly #directory: string;
  readonly #tell: (message: string) => void;
  #roster: Roster | undefined;
  #text = "";
  /** The last write that was requested. */
  #last: Promise<void> = Promise.resolve();

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
    if (!state) this.#tell(`the file in ${this.#directory} is damaged: this server treats its state as lost.`);
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
      const what = `${this.#directory} cannot be written (${code ?? message})`;
      this.#tell(`${what}: this server takes no part until it can. It tries again every second.`);
      throw error;
    }
  }

  /** Resolves once all writes have ended. */
  async close(): Promise<void> {
    await this.#last.catch(() => undefined);
  }

  async #save(): Promise<void> {
    this.#last = this.#last
      .catch(() => undefined)
      .then(async () => {
        if (!this.#roster) throw new Error("No roster was set.");
        const body = `${JSON.stringify(this.#roster)}\n${this.#text}`;
        await replace(this.#directory, `leasehold-voting 1 ${checksum(body)}\n${body}`);
      });
    await this.#last;
  }
}

/** Parses a file; undefined if it is not intact. */
function stateOf(content: string): State | undefined {
  const [head = "", expected] = HEAD.exec(content) ?? [];
  const body = content.slice(head.length);
  if (checksum(body) !== expected) return undefined;
  const end = body.indexOf("\n");
  const roster = asRoster(body.slice(0, end));
  return roster && { roster, text: body.slice(end + 1) };
}

function checksum(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Writes the text beside the file, syncs and renames it; then the directory is synced. */
async function replace(directory: string, content: string): Promise<void> {
  const [path, beside] = [join(directory, NAME), join(directory, `${NAME}.new`)];
  // Use a new file for each write: after a failed sync, the content of the old one is unknown.
  await rm(beside, { force: true });
  await writeFile(beside, content, { flag: "wx", mode: 0o600, flush: true });
  await rename(beside, path);
  // Windows does not sync directories, and keeps the order of changes to names itself.
  if (process.platform === "win32") return;
  const opened = await open(directory, "r");
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}
