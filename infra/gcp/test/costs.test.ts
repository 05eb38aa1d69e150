import * as exported from "@leasehold/infra-gcp";
import { cost, SECONDS, type Factor, type Price } from "@leasehold/test-kit/costs/cost";
import { testCosts } from "@leasehold/test-kit/costs/page";
import { FIRESTORE_READ, FIRESTORE_WRITE, OBJECT_READ, OBJECT_WRITE } from "@leasehold/test-kit/costs/request-prices";

const RUN = "https://cloud.google.com/run/pricing";
const FIRESTORE = "https://cloud.google.com/firestore/pricing";

// The rates of a worker pool are lower, so these are an upper bound.
const processor: Price = { of: "a processor, all the time", usd: 0.000018, source: RUN };
const memory: Price = { of: "memory, all the time", usd: 0.000002, source: RUN };
const pointInTime: Price = { of: "what was written in the last 7 days", usd: 0.15, source: FIRESTORE };
const MONITORING = "https://cloud.google.com/products/observability/pricing";
const condition: Price = {
  of: "a condition of an alert policy",
  usd: 1.5,
  source: "https://cloud.google.com/monitoring/alerts/cost-control",
};
const evaluated: Price = { ...condition, of: "time series that a condition gets", usd: 0.35, per: 1_000_000 };
const logMetric: Price = { of: "a MiB of a metric of logs, 8 bytes a minute", usd: 0.258, source: MONITORING };
/** One evaluation every 30 seconds. */
const EVALUATIONS: Factor = [2 * 60 * 730, "evaluations"];
const job: Price = { of: "a job of Cloud Scheduler", usd: 0.1, source: "https://cloud.google.com/scheduler/pricing" };

testCosts(
  {
    folder: "gcp",
    region: "us-central1",
    seen: "from stored copies of Google's pages, 2026-11-23",
    constructs: {
      LeaseDatabase: {
        makes: "a Firestore database, protected from deletion; a role for each kind of grant",
        costs: [
          cost(pointInTime, [0.1, "GiB"]),
          cost(FIRESTORE_WRITE, [720, "renewals an hour"], [730, "hours"]),
          cost(FIRESTORE_READ, [1, "standby"], [720, "renewals an hour"], [730, "hours"]),
        ],
        rights: "nobody, until granted; nobody may delete; IAM knows databases and no documents",
      },
      LeaseBucket: {
        makes: "a bucket, protected from deletion, in place of a database",
        costs: [
          cost(OBJECT_WRITE, [720, "renewals an hour"], [730, "hours"]),
          cost(OBJECT_READ, [1, "standby"], [2_300, "polls an hour"], [730, "hours"]),
        ],
        rights: "nobody, until granted by election; a candidate may delete its own leases",
      },
      CandidateWorker: {
        makes: "a worker pool of Cloud Run with 2 instances, a service account",
        costs: [cost(processor, [2, "instances"], [1, "vCPU"], SECONDS), cost(memory, [2, "instances"], [0.5, "GiB"], SECONDS)],
        rights: "its account is a candidate in the database",
      },
      LeaderScheduledFunction: {
        makes: "a service of Cloud Run, a job of Cloud Scheduler that calls it, a service account for each",
        costs: [cost(job, [1, "job"])],
        rights: "its account is a candidate; the job's may call the service, and nobody else may",
      },
      ElectionAlerts: {
        makes: "2 alert policies, 2 metrics of logs",
        costs: [
          cost(condition, [2, "conditions"]),
          cost(evaluated, [2, "conditions"], EVALUATIONS),
          cost(logMetric, [2, "metrics"], [0.33, "MiB"]),
        ],
        rights: "gives none",
      },
      RunAlerts: {
        makes: "2 alert policies, 2 metrics of logs",
        costs: [
          cost(condition, [2, "conditions"]),
          cost(evaluated, [2, "conditions"], EVALUATIONS),
          cost(logMetric, [2, "metrics"], [0.33, "MiB"]),
        ],
        rights: "gives none",
      },
    },
  },
  exported,
);
