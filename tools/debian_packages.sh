#!/usr/bin/env bash
# Install the Debian packages that the tests use: a PostgreSQL server, Chromium, Chinese fonts and nginx.
# Packages that are installed already are left alone. nginx is only unpacked: installing it would start it.
set -euo pipefail
cd "$(dirname "$0")/.."

exists() { compgen -G "$1" > /dev/null; }
is_command() { command -v "$1" > /dev/null; }

missing=()
exists '/usr/lib/postgresql/*/bin/initdb' || is_command pg_config || missing+=(postgresql)
is_command chromium-headless-shell || is_command chromium || is_command chromium-browser || missing+=(chromium)
exists '/usr/share/fonts/*/noto/NotoSansCJK*' || missing+=(fonts-noto-cjk)
is_command nginx || exists .venv/nginx/usr/sbin/nginx || missing+=(nginx)
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
if ! is_command apt-get || ! is_command "${as_root[0]:-true}"; then
    echo "The tests need these programs, and apt-get cannot be used here: ${missing[*]}" >&2
    exit 1
fi
"${as_root[@]}" apt-get update -qq

to_install=()
for package in "${missing[@]}"; do
    case $package in
        nginx)
            mkdir -p .venv/nginx
            (cd .venv/nginx && apt-get download -qq nginx && dpkg-deb -x nginx_*.deb . && rm nginx_*.deb)
            ;;
        chromium)
            # The headless shell is the same browser without windows, and starts twice as fast.
            to_install+=("$(apt-cache pkgnames chromium-headless-shell | grep -x chromium-headless-shell || echo chromium)")
            ;;
        *) to_install+=("$package") ;;
    esac
done
if [ ${#to_install[@]} -gt 0 ]; then
    DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq "${to_install[@]}"
fi
