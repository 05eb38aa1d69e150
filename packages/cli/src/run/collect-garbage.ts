import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * Collects the garbage of this process's start. Node would keep that memory for as long as the process has little to do. Some
 * runtimes have no such function; then nothing happens.
 */
export function collectGarbage(): void {
  try {
    setFlagsFromString("--expose-gc");
    (runInNewContext("gc") as () => void)();
  } catch {
    // The process only keeps more memory.
  }
}
