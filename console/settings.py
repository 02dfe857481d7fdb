"""Compose the console from its environment. What may be chosen is said in `console.environment` alone."""

import os
from pathlib import Path
from typing import Any

from django.utils.csp import CSP
from django.utils.translation import gettext_lazy as _

from console import environment, logs
from lifecycle_core.access import keyfiles
from lifecycle_core.journal import databases

ENVIRONMENT = environment.read(os.environ)
PRODUCTION = ENVIRONMENT.profile == "production"
BASE_DIR = Path(__file__).resolve().parent.parent

# Ours, read by the application.

LIFECYCLE_PROFILE = ENVIRONMENT.profile
LIFECYCLE_DATA = ENVIRONMENT.data
LIFECYCLE_KEYS = LIFECYCLE_DATA / "keys"
LIFECYCLE_CREDENTIAL_KEYS = ENVIRONMENT.credential_keys
LIFECYCLE_WORKSPACES = dict(ENVIRONMENT.workspaces)
LIFECYCLE_HTTP_ORIGINS = ENVIRONMENT.http_origins
LIFECYCLE_WORKERS = ENVIRONMENT.workers
LIFECYCLE_VALUE_BYTES = ENVIRONMENT.value_bytes
LIFECYCLE_DSH_STORAGE = LIFECYCLE_DATA / "dsh"
LIFECYCLE_DSH_GRACE_SECONDS = ENVIRONMENT.dsh_grace_seconds
LIFECYCLE_DSH_START_SECONDS = ENVIRONMENT.dsh_start_seconds
LIFECYCLE_ORIGINS = ENVIRONMENT.origins
LIFECYCLE_METRICS_TOKEN = ENVIRONMENT.metrics_token

LIFECYCLE_DATA.mkdir(mode=0o700, parents=True, exist_ok=True)

# The process.

DEBUG = False
SECRET_KEY = ENVIRONMENT.secret_key or keyfiles.load(LIFECYCLE_KEYS, "django.key")
ALLOWED_HOSTS = list(ENVIRONMENT.hosts)
CSRF_TRUSTED_ORIGINS = list(ENVIRONMENT.origins)
ROOT_URLCONF = "console.urls"
ASGI_APPLICATION = "console.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "channels",
    "django_htmx",
    "ninja",
    "lifecycle_core.access",
    "lifecycle_core.journal",
    "console",
]

# The order: what measures and what makes problem documents stand outside of whatever may refuse.
MIDDLEWARE = [
    "console.middleware.Measured",
    "console.middleware.ApiProblems",
    "django.middleware.security.SecurityMiddleware",
    "console.middleware.StaticFiles",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "console.middleware.Legible",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.csp",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

# The database.

DATABASES = {
    "default": databases.postgres(ENVIRONMENT.database_url, pool_size=ENVIRONMENT.workers + 8)
    if ENVIRONMENT.database_url
    else databases.sqlite(LIFECYCLE_DATA / "console.sqlite3")
}

# What one process tells another: hints and counters, never facts.

if ENVIRONMENT.redis_url:
    CHANNEL_LAYERS: dict[str, dict[str, Any]] = {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [ENVIRONMENT.redis_url]},
        }
    }
    CACHES: dict[str, dict[str, Any]] = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": ENVIRONMENT.redis_url,
        }
    }
else:
    CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}

# Signing in.

AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
ACCOUNT_ADAPTER = "console.accounts.Adapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_SESSION_REMEMBER = False
ACCOUNT_RATE_LIMITS = {"login": "300/m/ip", "login_failed": "20/15m/ip,5/15m/key"}
ALLAUTH_TRUSTED_PROXY_COUNT = ENVIRONMENT.proxies
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"

# The wire.

DATA_UPLOAD_MAX_MEMORY_SIZE = LIFECYCLE_VALUE_BYTES + 64 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 1000
FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.MemoryFileUploadHandler"]
SESSION_COOKIE_NAME = "__Host-session" if PRODUCTION else "lifecycle_session"
SESSION_COOKIE_SAMESITE = "Strict"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = PRODUCTION
SESSION_COOKIE_AGE = 12 * 3600
CSRF_COOKIE_NAME = "__Host-csrf" if PRODUCTION else "lifecycle_csrf"
CSRF_COOKIE_SAMESITE = "Strict"
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SECURE = PRODUCTION
CSRF_FAILURE_VIEW = "console.views.refusals.forged"
LANGUAGE_COOKIE_SAMESITE = "Strict"
LANGUAGE_COOKIE_SECURE = PRODUCTION
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
# Not no-referrer: browsers would then send `Origin: null` with forms, and they would be refused.
SECURE_REFERRER_POLICY = "same-origin"
SECURE_SSL_REDIRECT = PRODUCTION
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if PRODUCTION else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = PRODUCTION
SECURE_HSTS_PRELOAD = PRODUCTION
if ENVIRONMENT.proxies:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_CSP = {
    "default-src": [CSP.SELF],
    "script-src": [CSP.SELF, CSP.NONCE],
    "style-src": [CSP.SELF, CSP.NONCE],
    "img-src": [CSP.SELF, "data:"],
    "connect-src": [CSP.SELF],
    "object-src": [CSP.NONE],
    "base-uri": [CSP.NONE],
    "form-action": [CSP.SELF],
    "frame-ancestors": [CSP.NONE],
}

# Files. What `collectstatic` has collected is used where it has run, else the files are served as they lie.

STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [folder for folder in [BASE_DIR / "static"] if folder.is_dir()]
COLLECTED = (STATIC_ROOT / "staticfiles.json").exists()
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if COLLECTED
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = not COLLECTED
WHITENOISE_ALLOW_ALL_ORIGINS = False

# Words and time.

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

LOGGING = logs.configuration(ENVIRONMENT.log)
logs.start()
