import type { Leadership } from "@leasehold/core";
import { fakeLeadership } from "@leasehold/core/testing";

declare function bill(leadership: Leadership): Promise<void>;

const leadership = fakeLeadership({ term: 7 });
const billing = bill(leadership);
leadership.lose(); // or leadership.resign()
await billing; // it has stopped
