// The first module of each door to be evaluated, so that a Node which is too old says so, and does not fail later, while it
// leads. What it is written in, that Node can read.

/** The oldest Node that everything here runs on: SQLite is there without a flag from this one on. */
const FLOOR = "22.13";

/**
 * Returns what to say of a Node that is older than the floor.
 * @param versions those of `process`; what is not Node itself, though it says that it is like one, is let pass
 */
export function objectionTo(versions: Readonly<Record<string, string | undefined>>): string | undefined {
  const { node, bun, deno } = versions;
  if (node === undefined || bun !== undefined || deno !== undefined) return undefined;
  const [major = 0, minor = 0] = node.split(".").map(Number);
  const [floorMajor = 0, floorMinor = 0] = FLOOR.split(".").map(Number);
  if (major > floorMajor || (major === floorMajor && minor >= floorMinor)) return undefined;
  return `Leasehold needs Node ${FLOOR} or later, and this is Node ${node}.`;
}

const objection = objectionTo(process.versions);
if (objection !== undefined) throw new Error(objection);
