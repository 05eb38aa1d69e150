import { readdir, readFile } from "node:fs/promises";

export const SECRET = "the secret of recorded servers";
export const NAMES = ["a", "b", "c"];
/** The server that has received the recorded packets. */
export const RECEIVER = "a";

const FOLDER = new URL("packets/", import.meta.url);

/** A packet as it was on the wire. */
export interface RecordedPacket {
  readonly signature: string;
  readonly body: Buffer;
}

/** A request of one server or an observer, and the answer of the version that has recorded both. */
export interface RecordedExchange {
  readonly name: string;
  readonly request: RecordedPacket;
  readonly reply: RecordedPacket;
}

/** Returns the version of this package. */
export async function presentVersion(): Promise<string> {
  const manifest = await readFile(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { readonly version: string }).version;
}

/** The versions of which packets were recorded. */
export async function recordedVersions(): Promise<readonly string[]> {
  return (await readdir(FOLDER)).toSorted();
}

/** The packets of a version, in the order in which they were sent. */
export async function recordedExchanges(version: string): Promise<readonly RecordedExchange[]> {
  const folder = new URL(`${version}/`, FOLDER);
  const files = (await readdir(folder)).filter((file) => file.endsWith(".request")).toSorted();
  return await Promise.all(
    files.map(async (file) => ({
      name: file.replace(".request", ""),
      request: await packetIn(new URL(file, folder)),
      reply: await packetIn(new URL(file.replace(".request", ".reply"), folder)),
    })),
  );
}

/** The folder with the file that the version's receiver has left behind. */
export function recordedDirectory(version: string): URL {
  return new URL(`${version}/`, FOLDER);
}

async function packetIn(file: URL): Promise<RecordedPacket> {
  const bytes = await readFile(file);
  const end = bytes.indexOf("\n");
  return { signature: bytes.subarray(0, end).toString(), body: bytes.subarray(end + 1) };
}
