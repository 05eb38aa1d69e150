// Each entry point evaluates this module first. So a Node version that is too old is reported at once, and does not fail later,
// while it leads. Use only syntax here that old versions can parse.

/** The oldest Node version on which all packages run: from this version on SQLite works without a flag. */
const FLOOR = [22, 13] as const;

/** Returns the error message for a Node version below the floor. Bun and Deno, which also state a version, are accepted. */
export function unsupportedNodeMessage(versions: Readonly<Record<string, string | undefined>>): string | undefined {
  const { node, bun, deno } = versions;
  if (node === undefined || bun !== undefined || deno !== undefined) return undefined;
  const [major = 0, minor = 0] = node.split(".").map(Number);
  const [floorMajor, floorMinor] = FLOOR;
  if (major > floorMajor || (major === floorMajor && minor >= floorMinor)) return undefined;
  return `Leasehold needs Node ${FLOOR.join(".")} or later, and this is Node ${node}.`;
}

const objection = unsupportedNodeMessage(process.versions);
if (objection !== undefined) throw new Error(objection);
