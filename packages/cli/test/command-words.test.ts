import { MemoryLeaseStore } from "@leasehold/core";
import { DrainTimeoutError, TermRegressedError } from "@leasehold/core/provider";
import { expect, test } from "vitest";
import { inCommandWords } from "../src/command-words.ts";

/** Words of the library that mean nothing to users of this command. */
const LIBRARY_WORDS = /\w\(\)|store\.\w|leadership\.|\b\w+[a-z](Ms|Term)\b/;

const store = new MemoryLeaseStore();
await store.pause("mail", { reason: "restore" });
const { message: paused } = await store.transfer("mail", "a").then(
  () => new Error("it was transferred"),
  (error: unknown) => error as Error,
);

test.for([
  [paused, "leasehold resume 'mail'"],
  [
    new DrainTimeoutError("mail", 7, 8_000).message.split(" A task")[0] ?? "",
    "Make the task heed its stop signal, or raise --grace.",
  ],
  [
    "The task leading 'mail' (term 7) is still pending 250 ms after its signal aborted: a successor may lead beside it. Make the task heed leadership.signal.",
    "The command of 'mail' (term 7) is still there 250 ms after it was asked to end: a successor may run beside it.",
  ],
  [new TermRegressedError("mail", 3, 9).message, "sets --min-term to more than 9"],
  ["Call migrate() once, or run the statements of store.migration yourself.", "Run leasehold migrate once."],
  ["migrate() needs the right to create tables.", "leasehold migrate needs the right"],
  [
    "its task was silent (stallTimeoutMs 50); call leadership.checkpoint() more often.",
    "(--stall 50); send POST /checkpoint more often.",
  ],
] as const)("a message of the library has the command's words: %s", ([message, expected]) => {
  const shown = inCommandWords(message);
  expect(shown).toContain(expected);
  expect(shown).not.toMatch(LIBRARY_WORDS);
});
