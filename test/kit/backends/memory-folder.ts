import { existsSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Where Linux keeps files in memory. */
export const IN_MEMORY = "/dev/shm";

/** Makes a temporary folder, in memory where there is such a place: SQLite waits for its disk, and its process with it. */
export async function memoryFolder(prefix: string): Promise<string> {
  return await mkdtemp(join(existsSync(IN_MEMORY) ? IN_MEMORY : tmpdir(), prefix));
}
