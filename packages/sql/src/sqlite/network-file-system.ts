import { statfsSync } from "node:fs";
import { dirname } from "node:path";

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

export function networkFileWarning(path: string): string | undefined {
  if (process.platform !== "linux") return undefined;
  let name;
  try {
    name = networkFileSystem(statfsSync(dirname(path)).type);
  } catch {
    // The folder is missing. The store reports that with a better message.
  }
  return name && `The file is on ${name}; leases need a local disk, whose locks hold and whose writes last.`;
}

/** Returns the name of a file system of another machine. @param type its number, which may come with its sign bit set. */
export function networkFileSystem(type: number): string | undefined {
  return NETWORK_FILE_SYSTEMS.get(type >>> 0);
}
