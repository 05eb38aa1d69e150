import { Elector } from "@leasehold/core";
import { storeFromUrl } from "leasehold";

await using store = await storeFromUrl(process.env["LEASEHOLD_STORE"] ?? "memory:");
const elector = new Elector({ store, election: "nightly-billing" });

await elector.stop();
