/** Leaves out what differs from run to run. */
export function steady(line: string): string {
  return line
    .replace(/ \[request [^\]]*\]/, "")
    .replace(/EAI_AGAIN/, "ENOTFOUND")
    .replace(/in \d+ s\.$/, "in 15 s.");
}
