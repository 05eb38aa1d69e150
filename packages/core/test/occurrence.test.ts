import { ConfigurationError } from "@leasehold/core";
import { occurrenceId, scheduledMsOf, type Occurrence } from "@leasehold/core/occurrences";
import { expect, test } from "vitest";

const ADVICE = "Pass it.";

test("an occurrence is between 1970 and the year 9999, and its name fits the store", () => {
  const last = Date.parse("9999-12-31T23:59:59.999Z");
  expect(occurrenceId({ name: "nightly", scheduledMs: 0 }, ADVICE)).toBe("nightly@1970-01-01T00:00:00.000Z");
  expect(occurrenceId({ name: "nightly", scheduledMs: last }, ADVICE)).toBe("nightly@9999-12-31T23:59:59.999Z");
  for (const scheduledMs of [-1, last + 1]) {
    expect(() => occurrenceId({ name: "nightly", scheduledMs }, ADVICE)).toThrow(`scheduledMs is ${scheduledMs};`);
  }
  for (const nothing of [undefined, null, {}, Promise.resolve()]) {
    expect(() => occurrenceId(nothing as never, ADVICE)).toThrow("scheduledMs is undefined;");
  }
  expect(() => occurrenceId({ scheduledMs: 0 } as Occurrence, ADVICE)).toThrow(
    `The occurrence's name is missing; it must be the schedule's. ${ADVICE}`,
  );
  expect(() => occurrenceId({ name: "n".repeat(255), scheduledMs: 0 }, ADVICE)).toThrow(ConfigurationError);
});

test("a text is accepted as an instant only with a time and a zone", () => {
  const ten = Date.parse("2026-11-20T10:00:00Z");
  for (const text of ["2026-11-20T10:00:00Z", "2026-11-20T11:00:00.000+01:00", "2026-11-20T11:00+0100"]) {
    expect(scheduledMsOf(text, "It", ADVICE), text).toBe(ten);
  }
  for (const text of ["2026-11-20", "2026-11-20T10:00:00", "10:00", "", "2026-13-20T10:00:00Z", ten, undefined]) {
    expect(() => scheduledMsOf(text, "It", ADVICE), String(text)).toThrow(
      /^It is .*, not a time in ISO 8601 with its zone. Pass it.$/,
    );
  }
});
