import { statfs } from "node:fs/promises";

/** The file systems of other machines, by the numbers that Linux gives them (statfs(2), linux/magic.h). */
const NETWORK_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "SMB"],
  [0xfe534d42, "SMB"],
  [0x00c36400, "Ceph"],
  [0x01021997, "9P"],
  [0x0bd00bd0, "Lustre"],
  [0x47504653, "GPFS"],
]);

/** Returns the name of the file system of a folder if it is another machine's; undefined where it is not, or nobody knows. */
export async function networkFileSystemOf(folder: string): Promise<string | undefined> {
  if (process.platform !== "linux") return undefined;
  try {
    return networkFileSystem((await statfs(folder)).type);
  } catch {
    // The folder is missing, which the store says better.
    return undefined;
  }
}

/** Returns the name of a file system of another machine, by its number; it may come with its sign bit set. */
export function networkFileSystem(type: number): string | undefined {
  return NETWORK_FILE_SYSTEMS.get(type >>> 0);
}
