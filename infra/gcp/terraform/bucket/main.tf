# Leases of Leasehold in a bucket of Google Cloud Storage, and the rights of its candidates. The tests compare this module with the
# construct LeaseBucket of @leasehold/infra-gcp. It was never applied.
terraform {
  required_providers {
    google = { source = "hashicorp/google", version = "~> 7.20" }
  }
}

variable "project" {
  type = string
}

variable "name" {
  description = "3 to 40 lower-case letters, digits and hyphens, unique among the buckets of the world"
  type        = string
}

variable "location" {
  description = "One region, such as europe-west1"
  type        = string
}

variable "candidates" {
  description = "A member and one election of it, by any key"
  type        = map(object({ member = string, election = string }))
  validation {
    condition     = alltrue([for each in values(var.candidates) : can(regex("^[A-Za-z0-9_-]{1,255}$", each.election))])
    error_message = "An election has 1 to 255 letters, digits, hyphens and underscores. Use the construct for other names."
  }
}

resource "google_storage_bucket" "leases" {
  project                     = var.project
  name                        = var.name
  location                    = var.location
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  versioning { enabled = false }
  soft_delete_policy { retention_duration_seconds = 0 }
  lifecycle { prevent_destroy = true }
}

# Google requires the right to delete of a program that replaces an object. The store deletes nothing.
resource "google_project_iam_custom_role" "candidate" {
  project     = var.project
  role_id     = "lease_candidate_in_${replace(var.name, "-", "_")}"
  title       = "Lease candidate (${var.name})"
  description = "Competes in elections."
  permissions = [
    "storage.objects.get",
    "storage.objects.list",
    "storage.objects.create",
    "storage.objects.delete",
    "storage.buckets.get",
  ]
}

resource "google_storage_bucket_iam_member" "candidate" {
  for_each = var.candidates
  bucket   = google_storage_bucket.leases.name
  role     = google_project_iam_custom_role.candidate.id
  member   = each.value.member
  condition {
    title      = "Leasehold: one election of ${var.name}"
    expression = "resource.name == \"projects/_/buckets/${var.name}\" || resource.name == \"projects/_/buckets/${var.name}/objects/leasehold/${each.value.election}\" || resource.name.startsWith(\"projects/_/buckets/${var.name}/objects/leasehold/ticks/${each.value.election}/\") || resource.name == \"projects/_/buckets/${var.name}/objects/leasehold/.probe\""
  }
}
