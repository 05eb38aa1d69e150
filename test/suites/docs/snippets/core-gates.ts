import type { LeaseStore } from "@leasehold/core";
import { checkSchedule, doOccurrence, type ScheduleOptions } from "@leasehold/core/occurrences";

declare const store: LeaseStore;
declare function closeTheBooks(): Promise<void>;
declare function everyHour(tick: (dueMs: number) => Promise<unknown>): void;

const schedule: ScheduleOptions = { store, name: "close-the-books" };
checkSchedule("everyHour", schedule);
everyHour(async (scheduledMs) => await doOccurrence({ schedule, scheduledMs }, closeTheBooks, {}));
