import { conformance } from "@leasehold/conformance";
import { describe, it } from "vitest";
import { subject } from "./store-under-test.ts";

conformance({ describe, it }, subject);
