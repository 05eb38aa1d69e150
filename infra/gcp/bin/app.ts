import { fileURLToPath } from "node:url";
import { synthesize } from "@leasehold/infra-gcp";
import { App } from "cdktn";
import { LeaseholdStack } from "./leasehold-stack.ts";

const { CDKTF_OUTDIR: outdir = fileURLToPath(new URL("../cdktf.out", import.meta.url)) } = process.env;
const app = new App({ outdir });
new LeaseholdStack(app, "leasehold");
synthesize(app);
