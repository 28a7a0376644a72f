class Kitbag < Formula
  desc "One MCP endpoint in front of many MCP servers"
  homepage "@URL@"
  version "@VERSION@"
  license "Apache-2.0"

  depends_on :linux

  on_intel do
    url "@URL@/@X86_64@"
    sha256 "@X86_64_SHA256@"
  end

  on_arm do
    url "@URL@/@AARCH64@"
    sha256 "@AARCH64_SHA256@"
  end

  def install
    bin.install "kitbag"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/kitbag.bash" => "kitbag"
    zsh_completion.install "completions/_kitbag"
    fish_completion.install "completions/kitbag.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/kitbag --version")
  end
end
