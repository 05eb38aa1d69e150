import type { Case, CaseInfo } from "./case.ts";
import { acceptingInput } from "./cases/accepting-input.ts";
import { acquiring } from "./cases/acquiring.ts";
import { administering } from "./cases/administering.ts";
import { completing } from "./cases/completing.ts";
import { countingTerms } from "./cases/counting-terms.ts";
import { delayingMessages } from "./cases/delaying-messages.ts";
import { expiring } from "./cases/expiring.ts";
import { holding } from "./cases/holding.ts";
import { leading } from "./cases/leading.ts";
import { leadingByOddClocks } from "./cases/leading-by-odd-clocks.ts";
import { leadingThroughFaults } from "./cases/leading-through-faults.ts";
import { lifting } from "./cases/lifting.ts";
import { listing } from "./cases/listing.ts";
import { losingMessages } from "./cases/losing-messages.ts";
import { pausing } from "./cases/pausing.ts";
import { reading } from "./cases/reading.ts";
import { spending } from "./cases/spending.ts";
import { takingTurns } from "./cases/taking-turns.ts";

/** Every case with its function, in the order in which they run. */
export const everyCase: readonly Case[] = [
  ...reading,
  ...acquiring,
  ...holding,
  ...expiring,
  ...administering,
  ...pausing,
  ...lifting,
  ...listing,
  ...countingTerms,
  ...losingMessages,
  ...delayingMessages,
  ...acceptingInput,
  ...spending,
  ...takingTurns,
  ...completing,
  ...leading,
  ...leadingThroughFaults,
  ...leadingByOddClocks,
];

/** Every case of the suite: its id, its title, and the features that it needs. */
export const cases: readonly CaseInfo[] = everyCase.map(({ id, title, needs }) => ({ id, title, ...(needs ? { needs } : {}) }));
